export { recordedSubmission } from './recorded.js';
export {
  type Arrival,
  type Simulated,
  type SimulatedRun,
  type SimulationOptions,
  simulate,
} from './simulate.js';
export {
  differencesOf,
  figuresOf,
  type RouteFigures,
  type SignalDifference,
  type SimulationFigures,
} from './summary.js';

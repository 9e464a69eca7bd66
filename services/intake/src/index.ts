export { createIntake, type IntakeOptions } from './intake.js';

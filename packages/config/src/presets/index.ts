export { PRESETS, type Preset } from './catalogue.js';
export { findPreset, presetSuggestion, presetYaml } from './expand.js';

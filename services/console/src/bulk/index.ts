export { actOnMany } from './bulk.js';

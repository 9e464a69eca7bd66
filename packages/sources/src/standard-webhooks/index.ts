export { signMessage } from './signature.js';

export { gitRepositoryId } from './location.js';

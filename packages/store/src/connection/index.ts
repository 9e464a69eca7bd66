export * from './connection.js';
export * from './database.js';
export * from './faults.js';
export * from './statement.js';

import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app.js';
import { takeTokenFromAddress } from './session/address-token.js';
import './shell/styles.css';

// Before anything is drawn or asked: a token must not stay in the address.
const token = takeTokenFromAddress(window);
const root = document.getElementById('root');
if (root === null) throw new Error('the page has no #root');
createRoot(root).render(
  <StrictMode>
    <App addressToken={token} />
  </StrictMode>,
);

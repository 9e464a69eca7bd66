import { type Html, html } from './html.js';

export const loginPage = (): Html => html`
  <h1>Sign in</h1>
  <form id="sign-in" class="sign-in">
    <label for="token">Token</label>
    <input id="token" type="password" autocomplete="current-password" spellcheck="false" required>
    <button type="submit">Sign in</button>
  </form>
  <p id="answer" role="status"></p>
  <p class="quiet">A new instance prints this page’s address with its admin token. Later, find the token in the data
  folder: <code>admin-token</code>.</p>`;

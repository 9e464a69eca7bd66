import type { Caller } from '../auth/index.js';
import { type Html, html } from './html.js';

export interface PageParts {
  readonly title: string;
  readonly main: Html;
  /** Null: nobody is signed in. */
  readonly caller: Caller | null;
  /** What the search holds. */
  readonly ref?: string;
  /** Scripts besides the console's own. */
  readonly script?: string;
  /** Whether the page asks for itself again. */
  readonly isLive: boolean;
}

export function layout(parts: PageParts): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${parts.title} · Headgate</title>
<link rel="stylesheet" href="/assets/console.css">
<script src="/assets/${parts.script ?? 'console.js'}" defer></script>
</head>
<body data-live="${parts.isLive ? 'yes' : 'no'}">
<a class="skip" href="#main">Skip to content</a>
<header class="bar">
  <a class="brand" href="/">Headgate</a>
  ${parts.caller !== null && signedInBar(parts.caller, parts.ref ?? '')}
</header>
<main id="main" tabindex="-1">${parts.main}</main>
<footer class="bar quiet">
  <span id="live" role="status"></span>
  <span><kbd>/</kbd> search <kbd>j</kbd> <kbd>k</kbd> move <kbd>Enter</kbd> open</span>
</footer>
</body>
</html>`.text;
}

const signedInBar = (caller: Caller, ref: string): Html => html`
  <form class="search" action="/why" method="get" role="search">
    <input id="search" type="search" name="ref" value="${ref}" required maxlength="2048" autocomplete="off"
      spellcheck="false" aria-label="Why: any delivery, key, run, URL, owner/repo#7 or commit"
      placeholder="why: #42, sha, delivery, key, run, URL">
  </form>
  <nav aria-label="Headgate">
    <a href="/">Runs</a>
    <a href="/bull">Queues</a>
    <a href="/docs">API</a>
    <button type="button" class="link" data-sign-out>Sign out ${caller.name}</button>
  </nav>`;

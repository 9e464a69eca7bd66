/** The API for people, from the same document as for programs. */
import { type Html, html } from './html.js';

interface Operation {
  readonly operationId?: string;
  readonly summary?: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required?: boolean;
    readonly schema?: object;
  }[];
  readonly requestBody?: object;
  readonly responses?: Readonly<Record<string, object>>;
}

export interface ApiDocument {
  readonly info: { readonly title: string; readonly version: string; readonly description?: string };
  readonly paths?: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components?: { readonly schemas?: Readonly<Record<string, object>> };
}

export function docsPage(document: ApiDocument): Html {
  const operations = Object.entries(document.paths ?? {}).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  const schemas = Object.entries(document.components?.schemas ?? {});
  return html`
  <h1>${document.info.title} ${document.info.version}</h1>
  <p>${document.info.description} <a href="/openapi.json">openapi.json</a></p>
  ${operations.map(
    ({ path, method, operation }) => html`<section>
    <h2 id="${operation.operationId ?? path}"><code>${method.toUpperCase()} ${path}</code></h2>
    <p>${operation.summary} <span class="quiet">${operation.description}</span></p>
    ${parameters(operation)}
    <p>Answers: ${Object.keys(operation.responses ?? {}).join(', ')}</p></section>`,
  )}
  <section><h2 id="schemas">Schemas</h2>${schemas.map(
    ([name, schema]) => html`<details><summary id="schema-${name}">${name}</summary>
      <pre>${JSON.stringify(schema, null, 2)}</pre></details>`,
  )}</section>`;
}

function parameters({ parameters: list = [], requestBody }: Operation): Html {
  if (list.length === 0 && requestBody === undefined) return html``;
  return html`<ul>${list.map(
    (
      one,
    ) => html`<li><code>${one.name}</code> <span class="quiet">${one.in}${one.required === true ? ', required' : ''}
      ${JSON.stringify(one.schema ?? {})}</span></li>`,
  )}${requestBody !== undefined && html`<li>body <span class="quiet">${JSON.stringify(requestBody)}</span></li>`}</ul>`;
}

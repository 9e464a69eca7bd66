/** The API for people, from the same document as for programs. */
import { useQuery } from '@tanstack/react-query';
import { api } from '../api/client.js';
import { Broken, Loading } from '../parts/states.js';
import classes from './docs.module.css';

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema?: object;
}

interface Operation {
  readonly operationId?: string;
  readonly summary?: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: object;
  readonly responses?: Readonly<Record<string, object>>;
}

interface Document {
  readonly info: { readonly title: string; readonly version: string; readonly description?: string };
  readonly paths?: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components?: { readonly schemas?: Readonly<Record<string, object>> };
}

export function DocsPage() {
  const { data, ...query } = useQuery({
    queryKey: ['openapi'],
    // The served document, made by the console from its own routes.
    queryFn: async () => (await api.openApi()) as Document,
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (data === undefined)
    return query.isError ? <Broken isPage fault={query.error} /> : <Loading what="the API" />;
  const operations = Object.entries(data.paths ?? {}).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  const tags = [...new Set(operations.map(({ operation }) => operation.tags?.[0] ?? 'Other'))];
  return (
    <div className={classes['docs']}>
      <title>API · Headgate</title>
      <h1>
        {data.info.title} {data.info.version}
      </h1>
      <p>
        {data.info.description} <a href="/openapi.json">openapi.json</a>
      </p>
      {tags.map((tag) => (
        <section key={tag} aria-label={tag}>
          <h2>{tag}</h2>
          {operations
            .filter(({ operation }) => (operation.tags?.[0] ?? 'Other') === tag)
            .map((one) => (
              <OperationFold key={`${one.method} ${one.path}`} {...one} />
            ))}
        </section>
      ))}
      <section aria-label="Schemas">
        <h2>Schemas</h2>
        {Object.entries(data.components?.schemas ?? {}).map(([name, schema]) => (
          <details key={name}>
            <summary className="mono">{name}</summary>
            <pre>{JSON.stringify(schema, null, 2)}</pre>
          </details>
        ))}
      </section>
    </div>
  );
}

function OperationFold(props: {
  readonly path: string;
  readonly method: string;
  readonly operation: Operation;
}) {
  const { path, method, operation } = props;
  const { parameters = [], requestBody, responses = {} } = operation;
  return (
    <details>
      <summary>
        <code>
          <b>{method.toUpperCase()}</b> {path}
        </code>{' '}
        <span className="quiet">{operation.summary}</span>
      </summary>
      <p>
        {operation.description} Answers: {Object.keys(responses).join(', ')}.
      </p>
      {parameters.length > 0 && (
        <ul>
          {parameters.map((one) => (
            <li key={`${one.in} ${one.name}`}>
              <code>{one.name}</code>{' '}
              <span className="quiet">
                {one.in}
                {one.required === true && ', required'} {JSON.stringify(one.schema ?? {})}
              </span>
            </li>
          ))}
        </ul>
      )}
      {requestBody !== undefined && <pre>{JSON.stringify(requestBody, null, 2)}</pre>}
    </details>
  );
}

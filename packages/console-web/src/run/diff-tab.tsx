import type { Artifact, RunDetail } from '@headgate/sdk';
import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { api } from '../api/client.js';
import { sizeWords } from '../parts/amounts.js';
import { Broken, Empty, Loading } from '../parts/states.js';
import classes from './diff.module.css';
import { type DiffFile, type DiffLine, parseDiff } from './parse-diff.js';
import { useResult } from './verification-tab.js';

/** A diff larger than this is read as a file. */
const MAX_BYTES = 2_000_000;
/** Lines of one file shown at first. */
const SHOWN_LINES = 600;
/** Files open at first. */
const OPEN_FILES = 20;
const PATCH = 'changes.patch';

/** The diff of the sealed result; without one, of the newest attempt that left one. */
export function DiffTab({ run }: { readonly run: RunDetail }) {
  const { data: result, ...sealed } = useResult(run);
  const { data: artifacts, ...kept } = useQuery({
    queryKey: ['run', run.id, 'artifacts'],
    queryFn: () => api.runs.artifacts(run.id),
  });
  const fault = sealed.error ?? kept.error;
  if (fault !== null) return <Broken fault={fault} />;
  if (result === undefined || artifacts === undefined) return <Loading what="the diff" />;
  const patch = result?.patch ?? artifacts.items.findLast((one) => one.name === PATCH) ?? null;
  if (patch === null) return <NoDiff run={run} verdict={result?.verdict ?? null} />;
  return <Patch run={run} patch={patch} isSealed={result?.patch != null} />;
}

function NoDiff({ run, verdict }: { readonly run: RunDetail; readonly verdict: string | null }) {
  if (verdict === 'no-change') return <Empty title="The agent changed nothing." />;
  return (
    <Empty title="There is no diff.">
      <p>
        {verdict === 'changes'
          ? 'The result is sealed, but its diff lies with the worker that made it.'
          : run.finishedAt === null
            ? 'It is collected when the agent has ended, before anything is verified.'
            : 'The run ended before its changes were collected.'}
      </p>
    </Empty>
  );
}

function Patch(props: { readonly run: RunDetail; readonly patch: Artifact; readonly isSealed: boolean }) {
  const { run, patch, isSealed } = props;
  const isLarge = patch.bytes > MAX_BYTES;
  const { data: text, ...query } = useQuery({
    queryKey: ['artifact', patch.id],
    queryFn: async () => (await api.runs.artifact(run.id, patch.name, patch.attempt)).text(),
    enabled: !isLarge,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const files = useMemo(() => parseDiff(text ?? ''), [text]);
  if (isLarge) {
    return (
      <Empty title={`The diff has ${sizeWords(patch.bytes)}.`}>
        <p>
          <a href={patch.url}>Download {patch.name}</a>
        </p>
      </Empty>
    );
  }
  if (text === undefined) return query.isError ? <Broken fault={query.error} /> : <Loading what="the diff" />;
  const sum = (of: (file: DiffFile) => number): number => files.reduce((total, file) => total + of(file), 0);
  return (
    <div className={classes['diff']}>
      <p>
        {files.length} {files.length === 1 ? 'file' : 'files'}{' '}
        <Counts added={sum((file) => file.added)} removed={sum((file) => file.removed)} />{' '}
        <span className="quiet">{isSealed ? 'as sealed' : `not sealed, attempt ${patch.attempt}`} · </span>
        <a href={patch.url}>{patch.name}</a>
      </p>
      {files.map((file, index) => (
        <FileDiff key={file.path} file={file} isOpenAtFirst={index < OPEN_FILES} />
      ))}
    </div>
  );
}

function Counts({ added, removed }: { readonly added: number; readonly removed: number }) {
  return (
    <span className={classes['counts']}>
      <span className={classes['plus']}>+{added}</span> <span className={classes['minus']}>−{removed}</span>
    </span>
  );
}

function FileDiff({ file, isOpenAtFirst }: { readonly file: DiffFile; readonly isOpenAtFirst: boolean }) {
  const [isOpen, setOpen] = useState(isOpenAtFirst);
  const [shown, setShown] = useState(SHOWN_LINES);
  const left = file.lines.length - shown;
  return (
    <details
      open={isOpen}
      onToggle={(event) => setOpen(event.currentTarget.open)}
      className={classes['file']}
    >
      <summary>
        <span className="mono">
          {file.oldPath !== null && `${file.oldPath} → `}
          {file.path}
        </span>{' '}
        {file.change !== 'modified' && <b>{file.change}</b>}{' '}
        {file.added + file.removed > 0 && <Counts added={file.added} removed={file.removed} />}
      </summary>
      {isOpen && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        <section className={classes['lines']} tabIndex={0} aria-label={`Diff of ${file.path}`}>
          {file.lines.length === 0 ? (
            <p className={classes['without']}>{withoutLines(file)}</p>
          ) : (
            <table>
              <tbody>
                {file.lines.slice(0, shown).map((line, index) => (
                  <Line key={index} line={line} />
                ))}
              </tbody>
            </table>
          )}
          {left > 0 && (
            <button type="button" className={classes['more']} onClick={() => setShown(shown * 4)}>
              {left} more lines
            </button>
          )}
        </section>
      )}
    </details>
  );
}

/** What changed in a file of whose lines none did. */
function withoutLines({ isBinary, change }: DiffFile): string {
  if (isBinary) return 'A binary file.';
  return change === 'renamed' ? 'Nothing but its name changed.' : 'An empty file.';
}

const SIGNS: Readonly<Record<DiffLine['kind'], string>> = {
  added: '+',
  removed: '−',
  same: ' ',
  hunk: '',
  note: '',
};

function Line({ line }: { readonly line: DiffLine }) {
  return (
    <tr className={classes[line.kind]}>
      <td className={classes['number']}>{line.oldNumber}</td>
      <td className={classes['number']}>{line.newNumber}</td>
      <td className={classes['code']}>
        <span className={classes['sign']}>{SIGNS[line.kind]}</span>
        {line.text}
      </td>
    </tr>
  );
}

import type { LogFile } from '@headgate/sdk';
import { Button } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { api } from '../api/client.js';
import { faultWords } from '../parts/states.js';
import classes from './log.module.css';

interface Found {
  readonly text: string;
  readonly items: readonly { readonly offset: number; readonly line: string }[];
  readonly nextOffset: number | null;
  readonly at: number;
}

/** The server looks through the log, a bounded part at a time; so the whole of it can be searched and is never sent. */
export function LogSearch(props: {
  readonly runId: string;
  readonly file: LogFile;
  readonly onGo: (offset: number) => void;
}) {
  const { runId, file, onGo } = props;
  const [text, setText] = useState('');
  const [found, setFound] = useState<Found | null>(null);
  const [problem, setProblem] = useState<string | null>(null);

  const look = async (wanted: string, offset: number, before: Found['items']): Promise<void> => {
    setProblem(null);
    try {
      const answer = await api.runs.searchLog(runId, file.name, {
        attempt: file.attempt,
        text: wanted,
        offset,
      });
      const items = [...before, ...answer.items];
      setFound({ text: wanted, items, nextOffset: answer.nextOffset, at: before.length });
      const first = answer.items[0];
      if (first !== undefined) onGo(first.offset);
    } catch (fault) {
      setProblem(faultWords(fault).detail);
    }
  };
  const go = (at: number): void => {
    if (found === null) return;
    const item = found.items[at];
    if (item === undefined) {
      if (at > 0 && found.nextOffset !== null) void look(found.text, found.nextOffset, found.items);
      return;
    }
    setFound({ ...found, at });
    onGo(item.offset);
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const wanted = text.trim();
    if (wanted === '') setFound(null);
    else if (found?.text === wanted) go(found.at + 1);
    else void look(wanted, 0, []);
  };
  return (
    <form className={classes['search']} onSubmit={submit}>
      <input
        type="search"
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        placeholder="Find in this log"
        aria-label={`Find in ${file.name}`}
        maxLength={200}
      />
      {found !== null && (
        <>
          <span role="status" className="quiet">
            {countWords(found)}
          </span>
          <Button size="xs" variant="default" aria-label="The match before" onClick={() => go(found.at - 1)}>
            ↑
          </Button>
          <Button size="xs" variant="default" aria-label="The next match" onClick={() => go(found.at + 1)}>
            ↓
          </Button>
        </>
      )}
      {problem !== null && <span role="alert">{problem}</span>}
    </form>
  );
}

function countWords({ items, at, nextOffset }: Found): string {
  const more = nextOffset === null ? '' : '+';
  return items.length === 0 ? `0${more}` : `${at + 1} of ${items.length}${more}`;
}

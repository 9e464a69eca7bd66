import { type FormEvent, useEffect, useRef } from 'react';
import { useLocation, useNavigate, useSearchParams } from 'react-router';
import { useKeys } from './keys.js';
import classes from './shell.module.css';

const MAX_REFERENCE_CHARACTERS = 2_048;

export function Search() {
  const field = useRef<HTMLInputElement>(null);
  const navigate = useNavigate();
  const { pathname } = useLocation();
  const [params] = useSearchParams();
  const ref = pathname === '/why' ? (params.get('ref') ?? '') : '';
  useKeys({
    '/': () => {
      field.current?.focus();
      field.current?.select();
    },
  });
  useEffect(() => {
    if (field.current !== null) field.current.value = ref;
  }, [ref]);
  const ask = (event: FormEvent): void => {
    event.preventDefault();
    const wanted = field.current?.value.trim() ?? '';
    if (wanted !== '') void navigate(`/why?ref=${encodeURIComponent(wanted)}`);
    field.current?.blur();
  };
  return (
    <search className={classes['search']}>
      <form onSubmit={ask}>
        <input
          ref={field}
          type="search"
          name="ref"
          defaultValue={ref}
          maxLength={MAX_REFERENCE_CHARACTERS}
          autoComplete="off"
          spellCheck={false}
          aria-label="Why: any delivery, key, run, URL, owner/repo#7 or commit"
          placeholder="Why: #42, sha, delivery, key, URL"
          onKeyDown={(event) => event.key === 'Escape' && event.currentTarget.blur()}
        />
        <kbd>/</kbd>
      </form>
    </search>
  );
}

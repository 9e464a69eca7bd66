import { Button, PasswordInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { useLocation, useNavigate } from 'react-router';
import { signIn } from '../api/client.js';
import { faultWords } from '../parts/states.js';
import mark from '../shell/mark.svg';
import { nextPage, takeTokenFromAddress } from './address-token.js';
import classes from './login.module.css';

export function LoginPage({ addressToken }: { readonly addressToken: string | null }) {
  const { search } = useLocation();
  const navigate = useNavigate();
  const client = useQueryClient();
  const [token, setToken] = useState('');
  const [problem, setProblem] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(addressToken !== null);
  const tried = useRef(false);

  async function enter(given: string): Promise<void> {
    setBusy(true);
    setProblem(null);
    try {
      await signIn(given);
      client.clear();
      await navigate(nextPage(search, location.origin), { replace: true });
    } catch (fault) {
      setProblem(faultWords(fault).detail);
      setBusy(false);
    }
  }

  // The address's token is tried once.
  useEffect(() => {
    document.title = 'Sign in · Headgate';
    // The printed address may be pasted while this very page is open: then only what stands behind # changes.
    const onHash = (): void => {
      const given = takeTokenFromAddress(window);
      if (given !== null) void enter(given);
    };
    window.addEventListener('hashchange', onHash);
    if (addressToken !== null && !tried.current) {
      tried.current = true;
      void enter(addressToken);
    }
    return () => window.removeEventListener('hashchange', onHash);
  }, []);

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    void enter(token.trim());
  };
  return (
    <main className={classes['page']}>
      <img src={mark} alt="" width="40" height="40" />
      <h1>Sign in to Headgate</h1>
      <form onSubmit={submit} className={classes['form']}>
        <PasswordInput
          label="Token"
          value={token}
          onChange={(event) => setToken(event.currentTarget.value)}
          autoComplete="current-password"
          spellCheck={false}
          required
          disabled={isBusy}
          error={problem}
          data-autofocus
        />
        <Button type="submit" loading={isBusy}>
          Sign in
        </Button>
      </form>
      <p className="quiet">
        A new instance prints this page’s address with its admin token. Later, find the token in the data
        folder: <code>.headgate/admin-token</code>.
      </p>
    </main>
  );
}

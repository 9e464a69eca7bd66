/** What stands around every page: where one is, search, whether the page is live, and how it looks. */
import { Button, Menu } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, NavLink, Outlet, useLocation, useNavigate } from 'react-router';
import { signOut } from '../api/client.js';
import { useCurrentInView } from '../parts/current-in-view.js';
import { browserZone } from '../parts/wall-clock.js';
import { useCaller } from '../session/signed-in.js';
import { useKeys } from './keys.js';
import { KeysHelp } from './keys-help.js';
import { LiveMark, StaleNotice } from './live-mark.js';
import mark from './mark.svg';
import { Search } from './search.js';
import classes from './shell.module.css';
import { ThemeItems } from './theme-items.js';

export function Shell() {
  const [isHelpOpen, setHelpOpen] = useState(false);
  const { pathname } = useLocation();
  const nav = useCurrentInView<HTMLElement>('[aria-current="page"]', pathname);
  useKeys({ '?': () => setHelpOpen(true) });
  return (
    <>
      <a className={classes['skip']} href="#main">
        Skip to content
      </a>
      <header className={classes['header']}>
        <Link to="/" className={classes['brand']}>
          <img src={mark} alt="" width="22" height="22" />
          Headgate
        </Link>
        <nav ref={nav} aria-label="Pages" className={classes['nav']}>
          <Link to="/" aria-current={/^\/(runs\/|$)/.test(pathname) ? 'page' : undefined}>
            Runs
          </Link>
          <NavLink to="/why">Why</NavLink>
          <NavLink to="/receipts">Receipts</NavLink>
          <NavLink to="/schedules">Schedules</NavLink>
          <NavLink to="/goals">Goals</NavLink>
          <NavLink to="/docs">API</NavLink>
          <QueuesLink />
        </nav>
        <Search />
        <LiveMark />
        <CallerMenu onHelp={() => setHelpOpen(true)} />
      </header>
      <StaleNotice />
      <main id="main" tabIndex={-1} className={classes['main']}>
        <Outlet />
        <KeysHelp isOpen={isHelpOpen} onClose={() => setHelpOpen(false)} />
      </main>
    </>
  );
}

/** Hints of all tenants lie in one queue: a token of one tenant may not look. */
function QueuesLink() {
  return useCaller().tenant === null ? <a href="/bull">Queues</a> : null;
}

function CallerMenu({ onHelp }: { readonly onHelp: () => void }) {
  const caller = useCaller();
  const client = useQueryClient();
  const navigate = useNavigate();
  const leave = async (): Promise<void> => {
    await signOut();
    await navigate('/login', { replace: true });
    client.clear();
  };
  return (
    <Menu position="bottom-end" withinPortal={false}>
      <Menu.Target>
        <Button variant="default" size="xs" className={classes['caller']}>
          {caller.name}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          {caller.role}
          {caller.tenant !== null && ` of ${caller.tenant}`}
        </Menu.Label>
        <Menu.Label>clocks of {browserZone()}</Menu.Label>
        <ThemeItems />
        <Menu.Divider />
        <Menu.Item onClick={onHelp}>Keys (?)</Menu.Item>
        <Menu.Item onClick={() => void leave()}>Sign out</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

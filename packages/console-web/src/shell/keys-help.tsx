import { Dialog } from '../parts/dialog.js';
import classes from './shell.module.css';

const KEYS = [
  ['/', 'Search: why did it run, wait, or not run?'],
  ['j', 'The next row'],
  ['k', 'The row before'],
  ['Enter', 'Open the row'],
  ['x', 'Choose the row, for cancel or retry'],
  ['Esc', 'Leave the search, close this'],
  ['?', 'These keys'],
] as const;

export function KeysHelp({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }) {
  return (
    <Dialog isOpen={isOpen} onClose={onClose} title="Keys">
      <dl className={classes['keys']}>
        {KEYS.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}

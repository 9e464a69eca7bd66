import { Modal } from '@mantine/core';
import type { ReactNode } from 'react';
import classes from './dialog.module.css';

/** A question before something is done. It lies inside the page's main part, so that its head is no second banner. */
export function Dialog(props: {
  readonly title: string;
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly children: ReactNode;
}) {
  return (
    <Modal
      opened={props.isOpen}
      onClose={props.onClose}
      title={props.title}
      // Its way to keep the page from scrolling is an inline style element.
      lockScroll={false}
      portalProps={{ target: '#main' }}
      transitionProps={{ duration: 0 }}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <div className={classes['dialog']}>{props.children}</div>
    </Modal>
  );
}

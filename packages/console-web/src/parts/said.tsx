import { Link } from 'react-router';
import { Moment } from './moment.js';
import { partsOfSentence, type SentencePart } from './sentence.js';
import classes from './sentence.module.css';

/** A sentence as the API says it, with the reader's clocks and with links. */
export function Said({ text }: { readonly text: string }) {
  return partsOfSentence(text).map((part, at) => <Part key={at} part={part} />);
}

function Part({ part }: { readonly part: SentencePart }) {
  switch (part.kind) {
    case 'text':
      return <>{part.text}</>;
    case 'instant':
      return <Moment at={part.at} />;
    case 'id':
      return (
        <Link to={part.page} className={`mono ${classes['link']}`}>
          {part.id}
        </Link>
      );
  }
}

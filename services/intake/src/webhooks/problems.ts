/** What a sender of events is told when there is no receipt, or one that is no success. */
import { formatId, type SignalAnswer } from '@headgate/domain';
import { HttpProblem, problemOf } from '@headgate/service';

export const noPolicyYet = (): HttpProblem =>
  new HttpProblem({
    status: 503,
    code: 'UNAVAILABLE',
    title: 'The configuration has not been read yet.',
    detail: 'Nothing was acknowledged; send it again.',
    retryAfterSeconds: 2,
  });

export const noSuchSource = (): HttpProblem =>
  new HttpProblem({
    status: 404,
    code: 'NO_SUCH_SOURCE',
    title: 'No source of this name takes webhooks.',
    detail: 'The last part of the URL is the id of a source with webhookSecrets in the configuration.',
  });

/** From an authenticated sender: there is a receipt, and it says what is wrong. */
export function unreadable(isMedia: boolean, { message, receiptId }: SignalAnswer): HttpProblem {
  const receipt = formatId('rcpt', receiptId);
  if (!isMedia) return new HttpProblem(problemOf('MALFORMED', 400, message, receipt));
  return new HttpProblem({ ...unsupportedMedia(message), receiptId: receipt });
}

export const unsupportedMedia = (detail: string) => ({
  status: 415,
  code: 'UNSUPPORTED_MEDIA_TYPE',
  title: 'The content type is not one that this source takes.',
  detail,
});

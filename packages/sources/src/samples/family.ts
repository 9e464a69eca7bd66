/**
 * What `headgate send` can be asked for: a sample is called as a route's `on` calls its event.
 *
 *   check_run.completed#1, github.check_run.completed#1    a real GitHub payload, the n-th of its name
 *   cloudevents.com.example.build.failed                   a CloudEvent of any type: #0 structured, #1 binary
 *   webhook.deploy.failed                                  a message of Standard Webhooks, of any type
 */
import { findSample, type Sample } from './catalogue.js';

export type CloudEventMode = 'structured' | 'binary';

export type AskedSample =
  | { readonly family: 'github'; readonly name: string; readonly sample: Sample }
  | {
      readonly family: 'cloudevents';
      readonly name: string;
      readonly type: string;
      readonly mode: CloudEventMode;
    }
  | { readonly family: 'webhook'; readonly name: string; readonly type: string };

export type SampleReading = AskedSample | { readonly family: 'unknown'; readonly detail: string };

const PLAIN = /^(cloudevents|webhook)(?:\.([^#]*))?(?:#(\d{1,4}))?$/;
/** What Standard Webhooks take for a type; that of a CloudEvent may be any text, which no command line needs. */
const TYPE = /^[A-Za-z0-9_-]{1,100}(?:\.[A-Za-z0-9_-]{1,100}){0,10}$/;
const MODES: readonly CloudEventMode[] = ['structured', 'binary'];

export function readSampleName(asked: string): SampleReading {
  const [, family, type = '', digits = '0'] = PLAIN.exec(asked.trim()) ?? [];
  if (family === 'cloudevents') return cloudEvent(type, Number(digits));
  if (family === 'webhook') return message(type, Number(digits));
  const found = findSample(asked);
  return found.kind === 'sample'
    ? { family: 'github', name: found.sample.name, sample: found.sample }
    : { family: 'unknown', detail: found.detail };
}

function cloudEvent(type: string, number: number): SampleReading {
  if (!TYPE.test(type)) return untyped('cloudevents.com.example.build.failed');
  const mode = MODES[number];
  if (mode === undefined) {
    return unknown(`A CloudEvent has two samples: #0 in structured mode, #1 in binary mode.`);
  }
  return { family: 'cloudevents', name: `cloudevents.${type}#${number}`, type, mode };
}

function message(type: string, number: number): SampleReading {
  if (!TYPE.test(type)) return untyped('webhook.deploy.failed');
  if (number > 0) return unknown('A message of Standard Webhooks has one sample, #0.');
  return { family: 'webhook', name: `webhook.${type}#0`, type };
}

const unknown = (detail: string): SampleReading => ({ family: 'unknown', detail });

const untyped = (example: string): SampleReading =>
  unknown(`Name its type as a route does, in letters, digits, "_", "-" and dots: ${example}`);

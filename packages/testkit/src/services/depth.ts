/** How thorough this run is: `npm test`, `npm test -- --deep`, `npm test -- --soak`. */
export type Depth = 'normal' | 'deep' | 'soak';

export function testDepth(): Depth {
  const asked = process.env['HEADGATE_DEPTH'];
  return asked === 'deep' || asked === 'soak' ? asked : 'normal';
}

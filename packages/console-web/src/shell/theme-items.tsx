import { Menu, useMantineColorScheme } from '@mantine/core';

const SCHEMES = [
  ['auto', 'As the system'],
  ['light', 'Light'],
  ['dark', 'Dark'],
] as const;

export function ThemeItems() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return SCHEMES.map(([scheme, label]) => (
    <Menu.Item
      key={scheme}
      role="menuitemradio"
      aria-checked={colorScheme === scheme}
      onClick={() => setColorScheme(scheme)}
      rightSection={colorScheme === scheme ? '✓' : null}
    >
      {label}
    </Menu.Item>
  ));
}

import { Select } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api } from '../api/client.js';
import { type FilterName, type Filters, SINCE, STATUSES } from './filters.js';
import classes from './runs.module.css';

const FACETS_STALE_MS = 60_000;

export function FilterBar({
  filters,
  onChange,
}: {
  readonly filters: Filters;
  readonly onChange: (name: FilterName, value: string | null) => void;
}) {
  const { data } = useQuery({
    queryKey: ['facets'],
    queryFn: () => api.facets(),
    staleTime: FACETS_STALE_MS,
  });
  const since = Object.entries(SINCE).map(([value, { label }]) => ({ value, label }));
  const tenants = data?.tenants ?? [];
  const pick = (
    name: FilterName,
    all: string,
    options: readonly (string | { value: string; label: string })[],
  ) => (
    <Select
      key={name}
      size="xs"
      className={classes['filter'] ?? ''}
      aria-label={name}
      title={filters[name] ?? ''}
      placeholder={all}
      data={withChosen(options, filters[name])}
      value={filters[name] ?? null}
      onChange={(value) => onChange(name, value)}
      clearable
      clearButtonProps={{ 'aria-label': `Any ${name}` }}
      searchable={options.length > 8}
      comboboxProps={{ withinPortal: false, transitionProps: { duration: 0 } }}
    />
  );
  return (
    <fieldset className={classes['filters']} aria-label="Filters">
      {pick('status', 'any status', STATUSES)}
      {pick('route', 'any route', data?.routes ?? [])}
      {pick('repository', 'any repository', data?.repositories ?? [])}
      {(tenants.length > 1 || filters.tenant !== undefined) && pick('tenant', 'any tenant', tenants)}
      {pick('since', 'any time', since)}
    </fieldset>
  );
}

/** What stands in the address is shown, whether it is still an option or not. */
function withChosen(
  options: readonly (string | { value: string; label: string })[],
  chosen: string | undefined,
): (string | { value: string; label: string })[] {
  const isThere = options.some((one) => (typeof one === 'string' ? one : one.value) === chosen);
  return chosen === undefined || isThere ? [...options] : [...options, chosen];
}

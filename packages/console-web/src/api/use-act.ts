/** Something that a person does: its answer is put where the page reads it, and its refusal is shown where it was asked. */
import { type QueryKey, useMutation, useQueryClient } from '@tanstack/react-query';

export function useAct<Input, Answer>(
  act: (input: Input) => Promise<Answer>,
  then: {
    readonly answers?: QueryKey;
    readonly changes?: QueryKey;
    readonly onDone?: (answer: Answer) => void;
  },
) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: act,
    onSuccess: (answer) => {
      if (then.answers !== undefined) client.setQueryData(then.answers, answer);
      if (then.changes !== undefined) void client.invalidateQueries({ queryKey: then.changes });
      then.onDone?.(answer);
    },
  });
}

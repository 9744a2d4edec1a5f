/** Hooks and extension points as a plugin sees them, without a gateway. */
import type { Contribution, ExtensionView, HookEmitter, HookSpec } from "@svc/sdk";

/** A hook with one handler, or none. */
export function hook<H extends HookSpec>(handle?: (input: never) => unknown): HookEmitter<H> {
  const emit = async (input: never) => handle?.(input);
  return { isUsed: () => handle !== undefined, emit: emit as unknown as HookEmitter<H>["emit"] };
}

/** A waterfall with one handler, or none. */
export function waterfall<H extends HookSpec>(change?: (input: never) => unknown): HookEmitter<H> {
  return hook<H>((input: never) => change?.(input) ?? input);
}

export function extensionView<T>(values: Record<string, T> | (() => Record<string, T>) = {}): ExtensionView<T> {
  const list = () =>
    Object.entries(typeof values === "function" ? values() : values).map(([id, value]): Contribution<T> => ({
      id,
      plugin: "test",
      value,
    }));
  return {
    list,
    get: (id) => list().find((contribution) => contribution.id === id),
    call: (contribution, work) => work(contribution.value),
  };
}

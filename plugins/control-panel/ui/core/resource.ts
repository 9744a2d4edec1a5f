/** Data of the gateway that a view shows: loaded once, kept while it is loaded again, loaded again when it may have changed. */

/** Current state of loaded data. */
export interface Resource<T> {
  /** The last loaded value; stays while a newer one is loaded, and after a failure. */
  readonly value: T | undefined;
  /** Why the last load failed; absent after a success. */
  readonly error: unknown;
  readonly isLoading: boolean;
  /** Loads again; calls meanwhile are merged into one further load. Never rejects. */
  reload(): Promise<void>;
  /** Replaces the value, e.g. after a change whose result is known. */
  set(value: T): void;
}

/** @param changed called after each change of the state */
export function createResource<T>(load: () => Promise<T>, changed: () => void, signal: AbortSignal): Resource<T> {
  let running = Promise.resolve();
  let isRunning = false;
  let again = false;
  const state: { value: T | undefined; error: unknown; isLoading: boolean } = {
    value: undefined,
    error: undefined,
    isLoading: false,
  };
  async function run(): Promise<void> {
    isRunning = true;
    do {
      again = false;
      state.isLoading = true;
      changed();
      try {
        state.value = await load();
        state.error = undefined;
      } catch (error) {
        state.error = error;
      }
      state.isLoading = false;
    } while (again && !signal.aborted);
    isRunning = false; // in this turn: a later call would otherwise be merged into a load that has ended
    if (!signal.aborted) changed();
  }
  return {
    get value() {
      return state.value;
    },
    get error() {
      return state.error;
    },
    get isLoading() {
      return state.isLoading;
    },
    reload() {
      if (isRunning) again = true;
      else running = run();
      return running;
    },
    set(value) {
      state.value = value;
      state.error = undefined;
      changed();
    },
  };
}

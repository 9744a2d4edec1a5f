/** A running gateway follows its configuration file. In the background: nobody waits until it does. */
import type { Clock, Logger, Stop } from "@svc/sdk";
import { hostConfig } from "./sections.ts";
import type { ConfigStore } from "./store.ts";
import { watchConfig } from "./watch.ts";
import { removeLeftovers } from "./write-file.ts";

interface FollowOptions {
  readonly configPath: string;
  readonly clock: Clock;
  readonly log: Logger;
}

const DEFAULT_DEBOUNCE_MS = 300;

/** Milliseconds until a file that could not be read is read again. Choice. */
const RETRY_MS = 1_000;

/** A change made before it is ready is found by a first look. @returns ends it; safe to call twice */
export function followConfig(store: ConfigStore, { configPath, clock, log }: FollowOptions): Stop {
  let cancelRetry = () => {};
  const look = async (): Promise<void> => {
    cancelRetry();
    await store.refresh();
    if (store.problem?.passes) cancelRetry = clock.setTimeout(() => void look(), RETRY_MS);
  };
  const watching = watchConfig({
    files: () => store.running.files,
    debounceMs: () => hostConfig(store.running).config.gateway.reload?.debounceMs ?? DEFAULT_DEBOUNCE_MS,
    changed: look,
    clock,
    log,
  });
  void removeLeftovers(configPath).then((names) => {
    if (names.length > 0) log.info({ names }, "removed what interrupted writes of the configuration left behind");
  });
  watching.then(
    () => void look(),
    (error: unknown) => log.error({ err: error }, "the configuration cannot be watched; changes need a restart"),
  );
  return async () => {
    cancelRetry();
    const stop = await watching.catch(() => undefined); // it could not be watched
    await stop?.();
  };
}

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

/** A change made before it is ready is found by a first look. @returns ends it; safe to call twice */
export function followConfig(store: ConfigStore, { configPath, clock, log }: FollowOptions): Stop {
  const watching = watchConfig({
    files: () => store.running.files,
    debounceMs: () => hostConfig(store.running).config.gateway.reload?.debounceMs ?? DEFAULT_DEBOUNCE_MS,
    changed: () => store.refresh(),
    clock,
    log,
  });
  void removeLeftovers(configPath).then((names) => {
    if (names.length > 0) log.info({ names }, "removed what interrupted writes of the configuration left behind");
  });
  watching.then(
    () => void store.refresh(),
    (error: unknown) => log.error({ err: error }, "the configuration cannot be watched; changes need a restart"),
  );
  return async () => {
    const stop = await watching.catch(() => undefined); // it could not be watched
    await stop?.();
  };
}

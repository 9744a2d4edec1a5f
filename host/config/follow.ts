/** Follows changes of the configuration file while the gateway runs. Starts in the background. */
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

/** Milliseconds before another attempt to read the file. Choice. */
const RETRY_MS = 1_000;
/** Milliseconds between two checks of a shared configuration, in case the message about a change was lost. Choice. */
const CHECK_MS = 5_000;

/**
 * Reads the file once when watching begins, to find earlier changes. @returns a function that stops following; safe to
 * call twice
 */
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
    if (names.length > 0) log.info({ names }, "removed temporary files of interrupted configuration writes");
  });
  watching.then(
    () => void look(),
    (error: unknown) =>
      log.error({ err: error }, "the configuration file cannot be watched; changes take effect after a restart"),
  );
  const stopChecks = clock.setInterval(async () => {
    if (await store.sharedText.isOutdated()) await look();
  }, CHECK_MS);
  return async () => {
    cancelRetry();
    stopChecks();
    const stop = await watching.catch(() => undefined); // watching failed
    await stop?.();
  };
}

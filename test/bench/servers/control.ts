/** Common part of every benchmark server: reports its address and its resource use, and stops on request. */

/** `collect` runs the garbage collector first, if Node was started with `--expose-gc`. */
export type Question = "usage" | "collect";

export interface Usage {
  /** User and system time of the whole process, threads included, in microseconds. */
  readonly cpuMicros: number;
  readonly residentBytes: number;
  readonly heapBytes: number;
  /** Open sockets, files, timers and other resources of the event loop. */
  readonly handles: number;
}

function usage(): Usage {
  const { user, system } = process.cpuUsage();
  const { rss: residentBytes, heapUsed: heapBytes } = process.memoryUsage();
  const handles = process.getActiveResourcesInfo().length;
  return { cpuMicros: user + system, residentBytes, heapBytes, handles };
}

/** Prints the address as one line of JSON, answers questions, and stops with the process that started it. */
export function announce(url: string, stop: () => void | Promise<void> = () => undefined): void {
  const leave = async () => {
    await stop();
    process.exit(0);
  };
  process.once("SIGTERM", () => void leave());
  process.once("disconnect", () => void leave());
  process.on("message", (question: Question) => {
    if (question === "collect") globalThis.gc?.();
    process.send?.(usage());
  });
  process.stdout.write(`${JSON.stringify({ ready: true, url })}\n`);
}

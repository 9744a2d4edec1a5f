/** The client library, loaded with the first account that runs, and kept quiet. */
import { lazy } from "@svc/sdk";

export type Library = typeof import("@whiskeysockets/baileys");
type Logger = Parameters<Library["makeWASocket"]>[0]["logger"];

/** Methods of `libsignal` that print the keys of a session on the console. */
const PRINTING = ["closeSession", "openSession", "removeOldSessions"] as const;

export const library = lazy(async (): Promise<Library> => {
  const [baileys, { default: signal }] = await Promise.all([import("@whiskeysockets/baileys"), import("libsignal")]);
  const { prototype } = signal.SessionRecord;
  for (const name of PRINTING) {
    const printing: (...args: unknown[]) => unknown = prototype[name];
    prototype[name] = function (...args) {
      return quietly(() => printing.apply(this, args));
    };
  }
  return baileys;
});

/** Runs a synchronous function without its lines on the console. */
function quietly<T>(work: () => T): T {
  const { info, warn } = console;
  console.info = console.warn = () => {};
  try {
    return work();
  } finally {
    Object.assign(console, { info, warn });
  }
}

const nothing = () => {};

/** The library's lines have keys and texts of people. */
export const SILENT: NonNullable<Logger> = {
  level: "silent",
  child: () => SILENT,
  trace: nothing,
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
};

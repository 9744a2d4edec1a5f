/** The preferences file: what people choose while the gateway runs. Spec: protocol/methods-tts.md, stores.md `settings/tts.json`. */
import { mkdir, rename } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { readPrivateFile } from "@svc/kit/files";
import { type Clock, type Logger, matches, messageOf, type Static, Type, unavailable } from "@svc/sdk";
import { replaceFile, withWriteLock } from "@svc/sdk/files";
import { SpeechAuto } from "@svc/sdk/speech";

/** Bytes of the file. */
const MAX_BYTES = 65_536;

/** Preferences; absent: the configuration decides. */
const Prefs = Type.Object({
  auto: Type.Optional(SpeechAuto),
  /** Older form of `auto`. */
  enabled: Type.Optional(Type.Boolean()),
  provider: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
  /** Characters above which a text is shortened before it is spoken. */
  maxLength: Type.Optional(Type.Integer({ minimum: 1 })),
  summarize: Type.Optional(Type.Boolean()),
});
export type Prefs = Static<typeof Prefs>;
const KEYS = ["auto", "enabled", "provider", "maxLength", "summarize"] as const;

type Fields = Readonly<Record<string, unknown>>;

export interface PrefsFile {
  path(): string;
  /** A value of the wrong type, or a file that cannot be read, is logged once and counts as absent. */
  read(): Promise<Prefs>;
  /** Keeps everything else in the file. @throws GatewayError `UNAVAILABLE` if it cannot be written */
  change(patch: Partial<Prefs>): Promise<void>;
}

interface PrefsSources {
  readonly stateDir: () => string;
  /** `messages.tts.prefsPath` */
  readonly configured: () => string | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock: Pick<Clock, "now">;
  readonly log: Pick<Logger, "warn">;
}

export function createPrefs({ stateDir, configured, environment, clock, log }: PrefsSources): PrefsFile {
  let reported = "";

  function path(): string {
    const named = configured() ?? environment["SVC_TTS_PREFS"]?.trim();
    if (!named) return join(stateDir(), "settings", "tts.json");
    const whole = named.startsWith("~/") ? join(environment["SVC_HOME"] ?? homedir(), named.slice(2)) : named;
    return isAbsolute(whole) ? whole : join(stateDir(), whole);
  }

  function report(problem: string): void {
    if (problem !== "" && problem !== reported)
      log.warn({ path: path(), problem }, "the preferences of speech cannot be used; the configuration decides");
    reported = problem;
  }

  /** The whole file. */
  async function whole(): Promise<{ readonly fields: Fields } | { readonly problem: string }> {
    const found = await readPrivateFile(path(), { maxBytes: MAX_BYTES, denied: 0o022 }).catch((error: unknown) =>
      messageOf(error),
    );
    if (typeof found === "string") return { problem: found };
    if (!Buffer.isBuffer(found))
      return found.fault === "missing" ? { fields: {} } : { problem: `it is not a private file (${found.fault})` };
    const value = parsed(found.toString());
    return isFields(value) ? { fields: value } : { problem: "it is not a JSON object" };
  }

  return {
    path,
    async read() {
      const file = await whole();
      if ("problem" in file) {
        report(file.problem);
        return {};
      }
      const given = fieldsOf(file.fields["tts"]);
      const kept = KEYS.filter((key) => given[key] !== undefined && matches(Prefs, { [key]: given[key] }));
      const wrong = KEYS.filter((key) => given[key] !== undefined && !kept.includes(key));
      report(wrong.length === 0 ? "" : `tts.${wrong.join(", tts.")} has a wrong value`);
      return Object.fromEntries(kept.map((key) => [key, given[key]])) as Prefs; // each value was checked
    },

    async change(patch) {
      try {
        await mkdir(dirname(path()), { recursive: true, mode: 0o700 });
        await withWriteLock(path(), async () => {
          const file = await whole();
          // A file that cannot be read stays beside the new one.
          if ("problem" in file) await rename(path(), `${path()}.unreadable-${clock.now()}`);
          const fields = "fields" in file ? file.fields : {};
          const tts = Object.fromEntries(
            Object.entries({ ...fieldsOf(fields["tts"]), ...patch }).filter(([, value]) => value !== undefined),
          );
          await replaceFile(path(), `${JSON.stringify({ ...fields, tts }, null, 2)}\n`);
        });
      } catch (error) {
        unavailable(`the preferences of speech cannot be written to ${path()}: ${messageOf(error)}`, { cause: error });
      }
    },
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {};
}

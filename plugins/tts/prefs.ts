/** The preferences file: what people choose while the gateway runs. Spec: protocol/methods-tts.md, stores.md `settings/tts.json`. */
import { mkdir, rename } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { readPrivateJson } from "@svc/kit/files";
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
const KEYS = Object.keys(Prefs.properties);

const Fields = Type.Record(Type.String(), Type.Unknown());
type Fields = Static<typeof Fields>;

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

  /** The whole file. @throws Error with the reason if it cannot be used */
  async function whole(): Promise<Fields> {
    const value = await readPrivateJson(path(), { maxBytes: MAX_BYTES, denied: 0o022 });
    if (value === undefined) return {};
    if (!matches(Fields, value)) throw new Error("it is not a JSON object");
    return value;
  }

  return {
    path,
    async read() {
      let given: Fields;
      try {
        given = fieldsOf((await whole())["tts"]);
      } catch (error) {
        report(messageOf(error));
        return {};
      }
      const kept = KEYS.filter((key) => given[key] !== undefined && matches(Prefs, { [key]: given[key] }));
      const wrong = KEYS.filter((key) => given[key] !== undefined && !kept.includes(key));
      report(wrong.length === 0 ? "" : `tts.${wrong.join(", tts.")} has a wrong value`);
      return Object.fromEntries(kept.map((key) => [key, given[key]])) as Prefs; // each value was checked
    },

    async change(patch) {
      try {
        await mkdir(dirname(path()), { recursive: true, mode: 0o700 });
        await withWriteLock(path(), async () => {
          const fields = await whole().catch(async (): Promise<Fields> => {
            await rename(path(), `${path()}.unreadable-${clock.now()}`); // it stays beside the new one
            return {};
          });
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

function fieldsOf(value: unknown): Fields {
  return matches(Fields, value) ? value : {};
}

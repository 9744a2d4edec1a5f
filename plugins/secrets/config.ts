/** The configuration section `secrets`. Spec: http/config.md §6, http/config-keys.md `secrets.*`. */
import { type Static, Strict, Type } from "@svc/sdk";
import { entryProblem } from "./source-settings.ts";

/** Pattern of provider names. Spec. */
const ALIAS = "^[a-z][a-z0-9_-]{0,63}$";

/** By default every key below `secrets` counts as sensitive because of its path. These keys hold no secret and stay readable. */
const shown = (description: string, more: object = {}) => ({ description, sensitive: false, ...more });

const plain = (description: string) => Type.Optional(Type.Unknown(shown(description)));
const plainList = (description: string) =>
  Type.Optional(Type.Unsafe<unknown>({ ...shown(description), items: { sensitive: false } }));

/**
 * One provider. Its source, possibly one of another plugin, decides which keys are allowed, so this schema accepts any key.
 * `args`, `env` and keys of other sources stay hidden from readers of the configuration.
 */
const ProviderFields = Type.Object(
  {
    source: Type.String(
      shown("Kind of the provider: env, file, exec, or a source contributed by a plugin", { minLength: 1 }),
    ),
    allowlist: plainList("env: variables that may be read; default: all"),
    path: plain("file: absolute path of the file"),
    mode: plain("file: json (the default; ids are JSON pointers) or singleValue (the id is `value`)"),
    command: plain("exec: absolute path of the program"),
    timeoutMs: plain("file, exec: timeout of a lookup in milliseconds; default 5000"),
    noOutputTimeoutMs: plain("exec: milliseconds the program may run without printing; default: timeoutMs"),
    maxBytes: plain("file: maximum size of the file in bytes; default 1048576"),
    maxOutputBytes: plain("exec: maximum output of the program in bytes; default 1048576"),
    jsonOnly: plain("exec: false also accepts plain text as the secret of a single id; default true"),
    passEnv: plainList("exec: environment variables of the gateway passed to the program; default: none"),
    trustedDirs: plainList("exec: directories in which the program must lie; default: anywhere"),
    allowInsecurePath: plain("exec: true skips the checks of the program's owner and mode; default false"),
    allowSymlinkCommand: plain("exec: the program may be a symbolic link; default false"),
  },
  { additionalProperties: true },
);

/** Choice: an invalid provider makes the section invalid, so the change is refused before the configuration is written. */
const Provider = Type.Refine(
  ProviderFields,
  (entry) => entryProblem(entry) === undefined,
  (entry) => entryProblem(entry) ?? "cannot be used",
);

const alias = (source: string) =>
  Type.String(shown(`Provider of ${source} references without a provider`, { pattern: ALIAS, default: "default" }));
const limit = (maximum: number, fallback: number, description: string) =>
  Type.Integer(shown(description, { minimum: 1, maximum, default: fallback }));

/** Section `secrets`. Changes take effect without a restart. */
export const SecretsConfig = Strict(
  {
    providers: Type.Record(Type.String(), Provider, {
      default: {},
      propertyNames: { pattern: ALIAS },
      description: "Providers of secrets, by name",
    }),
    defaults: Strict({ env: alias("env"), file: alias("file"), exec: alias("exec") }, { default: {} }),
    resolution: Strict(
      {
        maxProviderConcurrency: limit(16, 4, "Providers called at the same time"),
        maxRefsPerProvider: limit(4_096, 512, "References per call of a provider; more are split into several calls"),
        maxBatchBytes: limit(5_242_880, 262_144, "Bytes of ids per call of a provider"),
      },
      { default: {} },
    ),
  },
  { reload: "hot", order: 215 },
);

export type SecretsConfig = Static<typeof SecretsConfig>;

/** Name of the provider that a reference uses. */
export function providerOf(
  { source, provider }: { readonly source: string; readonly provider?: string | undefined },
  { defaults }: Pick<SecretsConfig, "defaults">,
): string {
  if (provider !== undefined) return provider;
  const known: Readonly<Record<string, string>> = defaults;
  return Object.hasOwn(known, source) ? (known[source] ?? "default") : "default";
}

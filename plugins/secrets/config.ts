/** The configuration section `secrets`. Spec: http/config.md §6, http/config-keys.md `secrets.*`. */
import { type Static, Strict, Type } from "@svc/sdk";
import { entryProblem } from "./source-settings.ts";

/** Names of providers. Spec. */
const ALIAS = "^[a-z][a-z0-9_-]{0,63}$";

/** By its path every key below `secrets` is taken for a secret; these are none, so that people can read what they set. */
const shown = (description: string, more: object = {}) => ({ description, sensitive: false, ...more });

const plain = (description: string) => Type.Optional(Type.Unknown(shown(description)));
const plainList = (description: string) =>
  Type.Optional(Type.Unsafe<unknown>({ ...shown(description), items: { sensitive: false } }));

/**
 * An entry. Which keys it may have says its source, also one of another plugin, so it is open here; `args`, `env` and
 * keys of other sources stay hidden from readers of the configuration.
 */
const ProviderFields = Type.Object(
  {
    source: Type.String(shown("Where it looks: env, file, exec, or a source of a plugin", { minLength: 1 })),
    allowlist: plainList("env: variables it may read; default: all"),
    path: plain("file: absolute path of the file"),
    mode: plain("file: json (the default; ids are JSON pointers) or singleValue (the id is `value`)"),
    command: plain("exec: absolute path of the program"),
    timeoutMs: plain("file, exec: milliseconds it may take; default 5000"),
    noOutputTimeoutMs: plain("exec: milliseconds it may be silent; default: timeoutMs"),
    maxBytes: plain("file: bytes the file may have; default 1048576"),
    maxOutputBytes: plain("exec: bytes it may print; default 1048576"),
    jsonOnly: plain("exec: false also takes plain text for one id; default true"),
    passEnv: plainList("exec: variables of the gateway that it gets; default: none"),
    trustedDirs: plainList("exec: the program must lie in one of these; default: anywhere"),
    allowInsecurePath: plain("exec: owner and mode of the program do not matter; default false"),
    allowSymlinkCommand: plain("exec: the program may be a symbolic link; default false"),
  },
  { additionalProperties: true },
);

/** Choice: a wrong entry makes the section wrong, as a wrong key of any section does: it is refused before it is written. */
const Provider = Type.Refine(
  ProviderFields,
  (entry) => entryProblem(entry) === undefined,
  (entry) => entryProblem(entry) ?? "cannot be used",
);

const alias = (source: string) =>
  Type.String(shown(`Provider of ${source} references that name none`, { pattern: ALIAS, default: "default" }));
const limit = (maximum: number, fallback: number, description: string) =>
  Type.Integer(shown(description, { minimum: 1, maximum, default: fallback }));

/** Section `secrets`. All of it is taken while the plugin runs. */
export const SecretsConfig = Strict(
  {
    providers: Type.Record(Type.String(), Provider, {
      default: {},
      propertyNames: { pattern: ALIAS },
      description: "Places secrets are looked up at, by name",
    }),
    defaults: Strict({ env: alias("env"), file: alias("file"), exec: alias("exec") }, { default: {} }),
    resolution: Strict(
      {
        maxProviderConcurrency: limit(16, 4, "Providers that are asked at the same time"),
        maxRefsPerProvider: limit(
          4_096,
          512,
          "References a provider is asked for at once; more are asked for in turns",
        ),
        maxBatchBytes: limit(5_242_880, 262_144, "Bytes of ids a provider is asked for at once"),
      },
      { default: {} },
    ),
  },
  { reload: "hot", order: 215 },
);

export type SecretsConfig = Static<typeof SecretsConfig>;

/** The name of the provider a reference means. */
export function providerOf(
  { source, provider }: { readonly source: string; readonly provider?: string | undefined },
  { defaults }: Pick<SecretsConfig, "defaults">,
): string {
  if (provider !== undefined) return provider;
  const known: Readonly<Record<string, string>> = defaults;
  return Object.hasOwn(known, source) ? (known[source] ?? "default") : "default";
}

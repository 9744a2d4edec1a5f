/**
 * References to secrets: how the configuration names a secret stored elsewhere, who resolves it, and who may see it.
 * Spec: http/config.md §6.
 */
import { unavailable } from "../gateway-error.ts";
import { type Static, Strict, Type } from "../schema.ts";
import { defineExtensionPoint, defineService } from "../service.ts";

/**
 * Names a secret: its source, the configured provider of that source (default: `secrets.defaults`), and its id there.
 */
export const SecretRef = Strict({
  source: Type.String({
    minLength: 1,
    description: "Where the secret is stored: env, file, exec, or a source of a plugin",
  }),
  provider: Type.Optional(
    Type.String({
      pattern: "^[a-z][a-z0-9_-]{0,63}$",
      description: "Provider of the source; default: secrets.defaults",
    }),
  ),
  id: Type.String({ minLength: 1, description: "Id of the secret at the provider" }),
});
export type SecretRef = Static<typeof SecretRef>;

/**
 * A setting that holds a secret, as text or as a reference; always hidden from readers of the configuration. One schema
 * with two types instead of a union: an invalid value is reported once, with its key.
 */
export function SecretSetting(options: { readonly description?: string } = {}) {
  return Type.Unsafe<string | SecretRef>({
    ...options,
    ...SecretRef,
    type: ["string", "object"],
    minLength: 1,
    sensitive: true,
  });
}

/** Whether a configuration value is a reference: exactly these keys, all of them strings. */
export function isSecretRef(value: unknown): value is SecretRef {
  if (typeof value !== "object" || value === null) return false;
  const { source, provider, id, ...rest } = value as Readonly<Record<string, unknown>>;
  const texts = [source, id].every((part) => typeof part === "string");
  return texts && ["string", "undefined"].includes(typeof provider) && Object.keys(rest).length === 0;
}

/** One entry of `secrets.providers`, passed to its source. */
export interface SecretProvider {
  /** Key in `secrets.providers`. */
  readonly name: string;
  /** The entry without `source`; empty for the default provider of a source that needs no settings. */
  readonly settings: Readonly<Record<string, unknown>>;
}

/**
 * A source of secrets. Contributed with `gateway.extend(SecretSource, "vault", source)`; the contribution id is
 * `source` of a reference.
 */
export interface SecretSource {
  /** Why these settings are invalid, naming the key; `undefined` if they are valid. */
  check(provider: SecretProvider): string | undefined;
  /** Why this id is invalid for the source; `undefined` if it is valid. */
  checkId(id: string, provider: SecretProvider): string | undefined;
  /**
   * Resolves all ids at once. Ids missing in the result were not found.
   * @throws Error naming the provider and the problem, never a value
   */
  resolve(provider: SecretProvider, ids: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, string>>;
}

/** Token of the extension point. */
export const SecretSource = defineExtensionPoint<SecretSource>("secrets.source", {
  summary:
    "Sources of secrets. Owned by the plugin `secrets`, which also contributes `env`, `file` and `exec`; contributed by plugins for other secret stores.",
});

/** Resolves secrets. */
export interface Secrets {
  /**
   * The secret of a setting; a plain text is returned unchanged. References are answered from the active snapshot; a
   * missing one is resolved and stored until the next reload.
   * @throws GatewayError `UNAVAILABLE` naming the reference and the next step, never the value
   */
  reveal(setting: string | SecretRef): Promise<string>;
}

/** Token of the service. */
export const Secrets = defineService<Secrets>()("secrets", "1.0.0", {
  summary:
    "Resolves secret settings. Provided by the plugin `secrets`; used by every plugin with a secret in its configuration.",
  remotable: true,
});

/**
 * The value of a secret setting: `Secrets.reveal`, for plugins that run without the service.
 * @param path of the setting, for the refusal
 * @throws GatewayError `UNAVAILABLE` naming the setting or the reference, and the next step, never the value
 */
export async function revealSetting(
  setting: string | SecretRef,
  secrets: Pick<Secrets, "reveal"> | undefined,
  path: string,
): Promise<string> {
  if (typeof setting === "string") return setting;
  if (secrets) return secrets.reveal(setting);
  return unavailable(
    `${path} is a secret reference, but no running plugin resolves secrets: enable the plugin secrets; see \`svc plugins why secrets\``,
  );
}

/** A configuration value that holds a secret. */
export interface SecretPlace {
  readonly path: readonly (string | number)[];
  /** The matching pattern, `*` for members: `models.providers.*.apiKey`. */
  readonly target: string;
  /** The text, or the reference. */
  readonly value: unknown;
  /** Whether the setting belongs to the host or an available plugin; otherwise nothing reads it. */
  readonly active: boolean;
}

/** The secrets of the running configuration in clear text, exclusively for the plugin that resolves them for admins. */
export interface SecretPlaces {
  /** Secret settings that have a value. */
  list(): readonly SecretPlace[];
  /** Patterns of all possible secret settings. */
  targets(): readonly string[];
  /** Registers resolved secrets: from now on the log redacts these texts. */
  found(secrets: readonly string[]): void;
}

/** Token of the service. */
export const SecretPlaces = defineService<SecretPlaces>()("config.secret-places", "1.0.0", {
  summary: "Locates secrets in the configuration. Provided by the host; used by the plugin `secrets`.",
});

/** Keys of accounts, looked up for each request. */
import { createHash } from "node:crypto";
import { refuseAnswer } from "@svc/kit/providers";
import { isGatewayError, untilAborted } from "@svc/sdk";
import type { ProviderAccount } from "@svc/sdk/models";
import { isSecretRef, type Secrets } from "@svc/sdk/secrets";
import { type ConfiguredAccount, withKey } from "./accounts.ts";
import type { Cooldowns } from "./cooldown.ts";

export interface KeysOptions {
  /** The current service for secrets; `undefined`: none. */
  readonly secrets: () => Pick<Secrets, "reveal"> | undefined;
  readonly cooldowns: Cooldowns;
}

export class AccountKeys {
  readonly #options: KeysOptions;
  /** For each account with a reference: digest of the key used last; absent: no key was found. */
  readonly #used = new Map<string, string>();

  constructor(options: KeysOptions) {
    this.#options = options;
  }

  /**
   * Looks up the key of an account.
   * @throws GatewayError `UNAVAILABLE` of kind `auth`, so that the next account is tried; the signal's reason on abort
   */
  async open(account: ConfiguredAccount, signal: AbortSignal): Promise<ProviderAccount> {
    const { apiKey, name } = account;
    if (!isSecretRef(apiKey)) return withKey(account, apiKey);
    this.#used.delete(name);
    const key = await untilAborted(this.#find(account, apiKey), signal); // a vault may be slow
    this.#used.set(name, digest(key));
    return withKey(account, key);
  }

  /** Ends the cooldown of accounts whose rejected key was replaced, so that the new key takes effect at once. */
  async freshen(accounts: readonly ConfiguredAccount[], signal: AbortSignal): Promise<void> {
    const { cooldowns } = this.#options;
    for (const account of accounts) {
      const { name, apiKey } = account;
      const kind = cooldowns.until(name) === undefined ? undefined : cooldowns.failureOf(name)?.kind;
      if (!isSecretRef(apiKey) || (kind !== "auth" && kind !== "billing")) continue;
      const found = this.#find(account, apiKey).catch(() => undefined); // the cooldown continues
      const key = await untilAborted(found, signal);
      if (key !== undefined && this.#used.get(name) !== digest(key)) cooldowns.succeeded(name);
    }
  }

  async #find({ name }: ConfiguredAccount, ref: Parameters<Secrets["reveal"]>[0]): Promise<string> {
    const secrets = this.#options.secrets();
    if (!secrets) {
      return refuseAnswer(
        "auth",
        `the key of model provider "${name}" is a reference, and no running plugin resolves references: enable the plugin secrets; see \`svc plugins why secrets\``,
      );
    }
    try {
      return await secrets.reveal(ref);
    } catch (error) {
      if (!isGatewayError(error)) throw error;
      return refuseAnswer("auth", `the key of model provider "${name}" was not found: ${error.message}`);
    }
  }
}

function digest(key: string): string {
  return createHash("sha256").update(key).digest("base64");
}

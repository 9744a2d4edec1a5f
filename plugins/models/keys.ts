/** The keys of accounts, looked up when a question is asked. */
import { createHash } from "node:crypto";
import { GatewayError, isGatewayError, untilAborted } from "@svc/sdk";
import type { ProviderAccount, ProviderFailure } from "@svc/sdk/models";
import { isSecretRef, type Secrets } from "@svc/sdk/secrets";
import { type ConfiguredAccount, withKey } from "./accounts.ts";
import type { Cooldowns } from "./cooldown.ts";

export interface KeysOptions {
  /** Who finds secrets now; `undefined` while nobody does. */
  readonly secrets: () => Pick<Secrets, "reveal"> | undefined;
  readonly cooldowns: Cooldowns;
}

export class AccountKeys {
  readonly #options: KeysOptions;
  /** Digest of the key an account was asked with last; absent: none was found. References only. */
  readonly #used = new Map<string, string>();

  constructor(options: KeysOptions) {
    this.#options = options;
  }

  /**
   * The account with its key.
   * @throws GatewayError `UNAVAILABLE` of kind `auth`, so that the next account is asked; the signal's reason on abort
   */
  async open(account: ConfiguredAccount, signal: AbortSignal): Promise<ProviderAccount> {
    const { apiKey, name } = account;
    if (!isSecretRef(apiKey)) return withKey(account, apiKey);
    this.#used.delete(name);
    const key = await untilAborted(this.#find(account, apiKey), signal); // a vault may be slow
    this.#used.set(name, digest(key));
    return withKey(account, key);
  }

  /** Accounts that cool down for their key and have another one by now start afresh: a new secret helps at once. */
  async freshen(accounts: readonly ConfiguredAccount[], signal: AbortSignal): Promise<void> {
    const { cooldowns } = this.#options;
    for (const account of accounts) {
      const { name, apiKey } = account;
      const kind = cooldowns.until(name) === undefined ? undefined : cooldowns.failureOf(name)?.kind;
      if (!isSecretRef(apiKey) || (kind !== "auth" && kind !== "billing")) continue;
      const found = this.#find(account, apiKey).catch(() => undefined); // it goes on cooling down
      const key = await untilAborted(found, signal);
      if (key !== undefined && this.#used.get(name) !== digest(key)) cooldowns.succeeded(name);
    }
  }

  async #find({ name }: ConfiguredAccount, ref: Parameters<Secrets["reveal"]>[0]): Promise<string> {
    const secrets = this.#options.secrets();
    if (!secrets) {
      return refuse(
        `the key of model provider "${name}" is a reference, and no running plugin finds secrets: enable the plugin secrets; see \`svc plugins why secrets\``,
      );
    }
    try {
      return await secrets.reveal(ref);
    } catch (error) {
      if (!isGatewayError(error)) throw error;
      return refuse(`the key of model provider "${name}" is not there: ${error.message}`);
    }
  }
}

function refuse(message: string): never {
  throw new GatewayError("UNAVAILABLE", message, { details: { kind: "auth" } satisfies ProviderFailure });
}

function digest(key: string): string {
  return createHash("sha256").update(key).digest("base64");
}

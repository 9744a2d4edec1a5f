/** Reads the allowed models and their aliases from `agents.defaults.models`. Pure. */
import { invalidRequest } from "@svc/sdk";
import type { ModelPolicy } from "@svc/sdk/models";

/** `provider/id` -> its alias. */
export type Policy = NonNullable<ReturnType<ModelPolicy["allowed"]>>;

/**
 * The policy; `undefined`: all models are allowed. Choice: an empty list allows all models, since otherwise no model is
 * left.
 */
export function policyOf(service: ModelPolicy | undefined): Policy | undefined {
  const allowed = service?.allowed();
  return allowed && allowed.size > 0 ? allowed : undefined;
}

/** The `provider/id` with the alias `name`, in any case. */
export function aliasTarget(policy: Policy | undefined, name: string): string | undefined {
  const wanted = name.toLowerCase();
  for (const [ref, { alias }] of policy ?? []) if (alias?.trim().toLowerCase() === wanted) return ref;
  return undefined;
}

/** Aliases with their models, sorted by alias. */
export function aliasesOf(policy: Policy | undefined): { alias: string; model: string }[] {
  return [...(policy ?? [])]
    .flatMap(([model, { alias }]) => (alias === undefined ? [] : [{ alias, model }]))
    .sort((left, right) => left.alias.localeCompare(right.alias, "en"));
}

/** Maximum number of models named in a refusal. */
const NAMED = 10;

/** @throws GatewayError always: `INVALID_REQUEST`. */
export function refuseOutside(policy: Policy, ref: string): never {
  const refs = [...policy.keys()];
  const more = refs.length > NAMED ? `, and ${refs.length - NAMED} more` : "";
  return invalidRequest(
    `model "${ref}" is not allowed: add it to agents.defaults.models, or choose one of ` +
      `${refs.slice(0, NAMED).join(", ")}${more}`,
  );
}

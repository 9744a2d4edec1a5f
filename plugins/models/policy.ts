/** Which models may be used and what they are called for short: `agents.defaults.models`. Pure. */
import { invalidRequest } from "@svc/sdk";
import type { ModelPolicy } from "@svc/sdk/models";

/** `provider/id` -> its alias. */
export type Policy = NonNullable<ReturnType<ModelPolicy["allowed"]>>;

/** `undefined`: every model may be used. Choice: an empty list restricts nothing, or nobody could ask anything. */
export function policyOf(service: ModelPolicy | undefined): Policy | undefined {
  const allowed = service?.allowed();
  return allowed && allowed.size > 0 ? allowed : undefined;
}

/** The `provider/id` that is called `name`, in any case. */
export function aliasTarget(policy: Policy | undefined, name: string): string | undefined {
  const wanted = name.toLowerCase();
  for (const [ref, { alias }] of policy ?? []) if (alias?.trim().toLowerCase() === wanted) return ref;
  return undefined;
}

/** Short names with what they mean, by name. */
export function aliasesOf(policy: Policy | undefined): { alias: string; model: string }[] {
  return [...(policy ?? [])]
    .flatMap(([model, { alias }]) => (alias === undefined ? [] : [{ alias, model }]))
    .sort((left, right) => left.alias.localeCompare(right.alias, "en"));
}

/** At most this many models are named in a refusal. */
const NAMED = 10;

/** @throws GatewayError always: `INVALID_REQUEST`. */
export function refuseOutside(policy: Policy, ref: string): never {
  const refs = [...policy.keys()];
  const more = refs.length > NAMED ? `, and ${refs.length - NAMED} more` : "";
  return invalidRequest(
    `model "${ref}" is not among those that may be used: add it to agents.defaults.models, or choose one of ` +
      `${refs.slice(0, NAMED).join(", ")}${more}`,
  );
}

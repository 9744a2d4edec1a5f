/** Output of `svc hooks try` for people. Pure. */
import type { ResultOf } from "@svc/sdk";
import { visible } from "@svc/sdk/cli";
import type { webhooks } from "@svc/sdk/webhooks";
import { fields, valueText } from "./cli-text.ts";

type Trial = ResultOf<typeof webhooks.try>;

/** How the request is processed, step by step. */
export function trialLines(trial: Trial): string[] {
  const { matched, mapping, passed, rendered, missing = [], transformed, action, params, policy, response } = trial;
  const body = response.body === undefined ? "" : ` ${valueText(response.body)}`;
  return [
    ...section(
      "skipped",
      passed.map(({ id, why }) => [id, why]),
    ),
    matched ? `matched by ${visible(mapping ?? "?")}` : "no mapping matched",
    ...section("rendered", entries(rendered)),
    ...missing.map((place) => `warning: a template names ${visible(place)}, which is not in the payload`),
    ...transformLines(transformed),
    ...(action === undefined ? [] : [`action ${visible(action)}`]),
    ...section("fields", entries(params)),
    ...section("policy", entries(policy).flatMap(flat)),
    ...trial.warnings.map((warning) => visible(`warning: ${warning}`)),
    `response to the sender: ${response.status}${body}`,
  ];
}

/** Whether the sender would get a success status. */
export function isAccepted({ matched, response }: Trial): boolean {
  return matched && response.status < 400;
}

type Entry = readonly [name: string, value: unknown];

function section(title: string, rows: readonly Entry[]): string[] {
  return rows.length === 0 ? [] : [title, ...fields(rows, "  ")];
}

function transformLines(transformed: unknown): string[] {
  if (transformed === undefined) return [];
  if (transformed === null) return ["the transform returned null: the request is skipped"];
  const rows = entries(transformed);
  return rows.length > 0 ? section("transformed", rows) : [`the transform returned ${valueText(transformed)}`];
}

function entries(value: unknown): Entry[] {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? Object.entries(value) : [];
}

/** `{ principal: { id } }` as `principal.id`. */
function flat([name, value]: Entry): Entry[] {
  const below = entries(value);
  return below.length === 0 ? [[name, value]] : below.map(([key, inner]) => [`${name}.${key}`, inner]);
}

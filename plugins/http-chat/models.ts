/** Lists the agents for `GET /v1/models`. Pure. Spec: http/chat-completions.md §9. */
import type { AgentDirectory } from "@svc/sdk/agents";
import { refusal } from "@svc/sdk/errors";

/** An agent under one of its names. */
export interface ListedModel {
  readonly id: string;
  readonly object: "model";
  /** epoch seconds */
  readonly created: number;
  readonly owned_by: string;
}

/** `svc` and `svc/default` are the default agent, `svc/<id>` any agent. @param created epoch seconds */
export function listModels(agents: Pick<AgentDirectory, "list">, created: number): readonly ListedModel[] {
  const ids = new Set(["svc", "svc/default", ...agents.list().map(({ id }) => `svc/${id}`)]);
  return [...ids].map((id) => ({ id, object: "model", created, owned_by: "svc" }));
}

/**
 * Finds a listed model, also by other spellings: `svc:<id>`, `agent:<id>`, and the names in `gateway.aliases` for
 * `svc`.
 * @throws GatewayError `NOT_FOUND`
 */
export function findModel(asked: string, models: readonly ListedModel[], aliases: readonly string[]): ListedModel {
  const [, name = "", mark, id] = /^([a-z][a-z0-9-]*)(?:([:/])(.+))?$/i.exec(asked) ?? [];
  const isOurs = ["svc", ...aliases, ...(mark === ":" ? ["agent"] : [])].includes(name.toLowerCase());
  const listed = mark === undefined ? "svc" : `svc/${id?.toLowerCase()}`;
  const found = isOurs ? models.find((model) => model.id === listed) : undefined;
  if (found) return { ...found, id: asked };
  const message = `no model "${asked.slice(0, 64)}"; GET /v1/models lists the available models`;
  throw refusal("model_not_found", message, { param: "model" });
}

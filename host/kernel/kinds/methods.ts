/** Methods, called by name from clients, plugins and HTTP endpoints. */
import { type Contract, type Handler, type Method, SCOPES, Type } from "@svc/sdk";
import type { MethodTally } from "../../hooks/owner.ts";
import { defineKind, type LiveTables, type Owned, type Problem } from "../kind.ts";

export interface DeclaredMethod {
  readonly method: Method;
  readonly handler: Handler<Method>;
}

export interface LiveMethod extends DeclaredMethod, Owned {
  readonly tally: MethodTally;
}

export const methods = defineKind<DeclaredMethod, LiveMethod>({
  name: "methods",
  noun: "method",
  shape: Type.Object({ name: Type.String(), scope: Type.String() }),
  isUnique: true,
  describe: ({ method: { name, scope } }) => ({ name, scope }),

  members: (record) => ({
    serve(contract: Contract, handlers: Readonly<Record<string, unknown>>) {
      for (const [key, method] of Object.entries(contract)) {
        const handler = handlers[key];
        if (typeof handler !== "function") throw new Error(`serve: no handler for "${key}" (${method.name})`);
        record({ method, handler: handler.bind(handlers) as Handler<Method> });
      }
    },
  }),

  listing: {
    key: "namespaces",
    read: ({ namespaces = [] }) => namespaces,
    value: ({ name }) => name.split(".")[0],
    covers: (namespace, name) => name === namespace || name.startsWith(`${namespace}.`),
    refused: "packaged",
  },

  live: (entry, owner) => ({ ...entry, owner, tally: owner.tally.method(entry.method.name) }),
  adopt: ({ method, handler }) => ({
    method,
    // The call object has getters and members that cannot be sent to another thread or process. The response and a late
    // `accept` may arrive together: the microtask lets the response end the call first.
    handler: ({ params, principal, connection, signal, accept }) =>
      handler({
        params,
        principal,
        connection,
        signal,
        accept: (payload) => queueMicrotask(() => accept(payload)),
      }),
  }),
  problems: ({ method }) => [...problemsOf(method)],
});

/** Returns the method names listed in `hello-ok`. */
export function advertised(live: LiveTables): () => readonly string[] {
  return live
    .table(methods)
    .derived((all) => all.flatMap(({ method }) => (method.advertised === false ? [] : [method.name])));
}

/** Checks that a method has a summary, a valid scope, strict object params and a result schema. */
function* problemsOf({ name, summary, scope, params, result }: Method): Generator<Problem> {
  const { type, additionalProperties } = params as { type?: unknown; additionalProperties?: unknown };
  const strict = "write its params with Strict({ ... })";
  if (summary.trim() === "")
    yield { level: "failed", why: `${name} has no summary`, next: "state in one line what it does" };
  if (scope !== "none" && !SCOPES.includes(scope))
    yield {
      level: "failed",
      why: `${name} requires the unknown scope "${scope}"`,
      next: `use one of ${SCOPES.join(", ")} or none`,
    };
  if (type !== "object") yield { level: "failed", why: `the params of ${name} are not an object`, next: strict };
  else if (additionalProperties !== false)
    yield { level: "warning", why: `${name} accepts unknown keys, so misspelt keys go unnoticed`, next: strict };
  if (Object.keys(result).length === 0)
    yield {
      level: "warning",
      why: `${name} has an empty result schema`,
      next: "write its result with Type.Object({ ... })",
    };
}

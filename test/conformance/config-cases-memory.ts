/** Keys of `memorySearch`, of all agents and of one: they take effect with the next search, which tests of the plugins check. */
import type { Given } from "./config-cases.ts";

const ALL = "agents.defaults.memorySearch";
const ONE = "agents.list[].memorySearch";
const AT = { source: "env", id: "SAMPLE" };

const forAll = (memorySearch: object) => ({ agents: { defaults: { memorySearch } } });
const forOne = (memorySearch: object) => ({ agents: { list: [{ id: "main", memorySearch }] } });

/** The value of a key in both places, before and after. */
function both(key: string, before: object, after: object): Record<string, Given> {
  return {
    [`${ALL}.${key}`]: { between: [forAll(before), forAll(after)] },
    [`${ONE}.${key}`]: { between: [forOne(before), forOne(after)] },
  };
}

const key = (apiKey: object) => ({ remote: { apiKey } });

export const MEMORY_GIVEN: Readonly<Record<string, Given>> = {
  ...both("extraPaths", {}, { extraPaths: ["/srv/notes"] }),
  ...both("remote.apiKey.source", key(AT), key({ ...AT, source: "file" })),
  ...both("remote.apiKey.id", key(AT), key({ ...AT, id: "OTHER" })),
  ...both("remote.apiKey.provider", key(AT), key({ ...AT, provider: "other" })),
};

const SETTINGS = "plugins/memory/settings.test.ts";
const SERVER = "plugins/memory/embedding/embeddings.test.ts";

export const MEMORY_SEEN_ELSEWHERE: Readonly<Record<string, string>> = {
  [`${ALL}.enabled`]: SETTINGS,
  [`${ALL}.sources`]: "plugins/agents/directory/memory-search.test.ts",
  [`${ALL}.extraPaths`]: "plugins/memory/engine/index.test.ts",
  [`${ALL}.provider`]: SETTINGS,
  [`${ALL}.remote.baseUrl`]: SETTINGS,
  [`${ALL}.remote.apiKey`]: SERVER,
  [`${ALL}.remote.apiKey.`]: SERVER,
  [`${ALL}.remote.headers.*`]: SERVER,
  [`${ALL}.model`]: SERVER,
  [`${ALL}.fallback`]: "plugins/agents/directory/memory-search.test.ts",
  [`${ALL}.store.vector.enabled`]: SETTINGS,
  [`${ALL}.chunking.`]: SETTINGS,
  [`${ALL}.sync.`]: SETTINGS,
  [`${ALL}.query.`]: SETTINGS,
  [`${ALL}.cache.`]: SETTINGS,
  [`${ONE}.`]: "plugins/agents/directory/memory-search.test.ts",
};

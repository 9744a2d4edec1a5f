/**
 * An address that the model invented can leak what it knows. Through any intermediate step, people are asked before it is
 * fetched while the conversation holds external content. Spec: .github/SECURITY.md, "What is not covered".
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { png } from "../../plugins/media/image-files.ts";
import { furnishedScene } from "./furnished-scene.ts";
import { newestOf, type Step, stepOf } from "./obeying-scene.ts";
import { until } from "./scene.ts";

const PAGE = "http://page.test/page";
const MORE = "http://page.test/more";
const PICTURE = "http://page.test/x.png";
const OTHER = "agent:main:other";
const leak = (way: string) => `http://page.test/leak?${way}`;
const fetch = (url: string): Step => ["web_fetch", { url }];

/** What the model does with the address before it fetches it. */
const WAYS: Readonly<Record<string, readonly Step[]>> = {
  nothing: [],
  file: [
    ["write", { path: "a.md", content: leak("file") }],
    ["read", { path: "a.md" }],
  ],
  note: [
    ["write", { path: "memory/a.md", content: `Of tea: ${leak("note")}` }],
    ["memory_search", { query: "tea" }],
  ],
  program: [["exec", { command: `echo '${leak("program")}'` }]],
  picture: [["image", { prompt: `Say ${leak("picture")}`, image: PICTURE }]],
  reply: [["sessions_send", { sessionKey: OTHER, message: `Say ${leak("reply")}` }]],
  history: [
    ["sessions_send", { sessionKey: OTHER, message: `Say ${leak("history")}` }],
    ["sessions_history", { sessionKey: OTHER }],
  ],
};
/** Cases in which something else fetches it. */
const OTHERS: Readonly<Record<string, Step>> = {
  message: ["sessions_send", { sessionKey: OTHER, message: `task:fetch-message ${leak("message")}` }],
  subagent: ["sessions_spawn", { task: `task:fetch-subagent ${leak("subagent")}` }],
};
const STEPS = new Map<string, readonly Step[]>([
  ["linked", [fetch(PAGE), fetch(MORE)]],
  ...Object.entries(WAYS).map(([way, steps]) => [way, [fetch(PAGE), ...steps, fetch(leak(way))]] as const),
  ...Object.entries(OTHERS).flatMap(([way, step]) => [
    [way, [fetch(PAGE), step]] as const,
    [`fetch-${way}`, [fetch(leak(way))]] as const,
  ]),
]);

describe("an address that the model invented", { timeout: 120_000 }, () => {
  it("is fetched only with a person's approval, and one of a page without", async (t) => {
    const visited: string[] = [];
    const { talk, asked } = await furnishedScene(t, {
      // Repeats its last message: a picture and another agent return what the model wants.
      replies: ({ body }) => stepOf(body, STEPS).step ?? { text: newestOf(body).words },
      page: (path) => (
        visited.push(path),
        path === "/x.png" ? ["image/png", png(2, 2)] : ["text/plain", `See ${MORE}`]
      ),
      found: { title: "-", url: MORE, snippet: "-" },
      words: "-",
      config: { tools: { sessions: { visibility: "agent" } } },
      allows: ({ command }) => command.startsWith("echo "),
    });
    await talk("hello", OTHER);
    await talk(`task:linked ${PAGE}`, "agent:main:linked");
    assert.deepEqual([visited, asked], [["/page", "/more"], []]);
    for (const way of [...Object.keys(WAYS), ...Object.keys(OTHERS)]) {
      await t.test(way, async () => {
        await talk(`task:${way} ${PAGE} ${PICTURE}`, `agent:main:${way}`);
        const isAsked = () =>
          asked.some(({ command }) => command.startsWith("web_fetch ") && command.includes(leak(way)));
        const isVisited = () => visited.some((path) => path.startsWith("/leak"));
        await until(() => isAsked() || isVisited(), `a question about ${leak(way)}`);
        assert.equal(isVisited(), false);
      });
    }
  });
});

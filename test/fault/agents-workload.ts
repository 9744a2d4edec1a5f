/** Agents that are created, changed and deleted, each with files: the list in the configuration must match the disk. */
import assert from "node:assert/strict";
import { access, readFile } from "node:fs/promises";
import { join } from "node:path";
import { agents } from "@svc/sdk/agents";
import type { GatewayClient } from "@svc/sdk/client";
import { isConflict, type Workload } from "./workload.ts";

interface Agent {
  /** Possible values: the last acknowledged one and those tried since. */
  names: string[];
  contents: string[];
  /** `undefined`: a deletion was requested, and its outcome is unknown. */
  isThere: boolean | undefined;
}

export class AgentsWorkload implements Workload {
  readonly #stateDir: string;
  readonly #agents = new Map<string, Agent>();
  #made = 0;
  acknowledged = 0;

  constructor(stateDir: string) {
    this.#stateDir = stateDir;
  }

  async write(connect: () => Promise<GatewayClient>): Promise<void> {
    const client = await connect();
    for (;;) {
      const id = `agent-${++this.#made}`;
      const workspace = join(this.#stateDir, `workspace-${id}`);
      await this.#change(() => client.call(agents.create, { name: id, workspace }));
      const agent: Agent = { names: [id], contents: [], isThere: true };
      this.#agents.set(id, agent);
      for (let turn = 0; turn < 3; turn++) {
        const content = `${id} ${turn} ${"x".repeat(20_000)}`;
        agent.contents.push(content);
        await this.#change(() => client.call(agents.filesSet, { agentId: id, name: "AGENTS.md", content }));
        agent.contents = [content];
      }
      const name = `${id} renamed`;
      agent.names.push(name);
      await this.#change(() => client.call(agents.update, { agentId: id, name }));
      agent.names = [name];
      if (this.#made % 2 === 0) continue;
      agent.isThere = undefined;
      await this.#change(() => client.call(agents.delete, { agentId: id }));
      agent.isThere = false;
    }
  }

  /** Retries when the command line wrote the file in between. */
  async #change(make: () => Promise<unknown>): Promise<void> {
    for (;;) {
      try {
        await make();
        this.acknowledged += 1;
        return;
      } catch (error) {
        if (!isConflict(error)) throw error;
      }
    }
  }

  async check(client: GatewayClient, context: string): Promise<void> {
    const { agents: list } = await client.call(agents.list, {});
    const listed = new Map(list.map((agent) => [agent.id, agent]));
    for (const [id, agent] of this.#agents) {
      const found = listed.get(id);
      if (agent.isThere !== undefined) assert.equal(found !== undefined, agent.isThere, `${context}: agent ${id}`);
      if (!found) continue;
      assert.ok(agent.names.includes(found.name ?? ""), `${context}: ${id} is called ${found.name}`);
      agent.names = [found.name ?? ""];
      if (agent.contents.length === 0) continue;
      const { file } = await client.call(agents.filesGet, { agentId: id, name: "AGENTS.md" });
      const isKnown = agent.contents.includes(file.content ?? "") || agent.contents[0]?.startsWith(`${id} 0 `);
      assert.ok(isKnown, `${context}: AGENTS.md of ${id} is ${file.content?.slice(0, 40)} (${file.size} bytes)`);
    }
    const text = await readFile(join(this.#stateDir, "svc.json"), "utf8");
    const { agents: section } = JSON.parse(text) as { agents?: { list?: { id: string; workspace?: string }[] } };
    for (const { id, workspace } of section?.list ?? []) {
      if (workspace === undefined) continue;
      await access(workspace);
      await access(join(this.#stateDir, "agents", id, "sessions"));
    }
  }
}

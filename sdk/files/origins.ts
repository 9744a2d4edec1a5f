/** The service `FileOrigins`: the origin of the content of workspace files. */
import type { Origin } from "../origin.ts";
import { defineService } from "../service.ts";

/** Files written by runs that were shown external content. */
export interface FileOrigins {
  /**
   * @param names files below the agent's workspace
   * @returns the origin with the least authority; `undefined`: as far as known, all files were written for the owner
   */
  of(agentId: string, names: readonly string[]): Promise<Origin | undefined>;
  /** Records the origins of files for good. To be called before another machine gets them: the times of commands, by which some are known, do not apply there. */
  keep(agentId: string, names: readonly string[]): Promise<void>;
}

/** Token of the service. */
export const FileOrigins = defineService<FileOrigins>()("file.origins", "1.1.0", {
  summary:
    "Origin of the content of files. Provided by the plugin whose tools write files; used by tools that read them.",
});

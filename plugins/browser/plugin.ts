/** Browser: controls a browser for agents and operators. */
import { definePlugin } from "@svc/sdk";

export default definePlugin({ id: "browser", api: "^1.0.0", setup: () => undefined });

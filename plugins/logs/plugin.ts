import { definePlugin } from "@svc/sdk";

export default definePlugin({ id: "logs", api: "^1.0.0", setup() {} });

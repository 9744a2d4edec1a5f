import { definePlugin } from "@svc/sdk";

export default definePlugin({ id: "cron", api: "^1.0.0", setup() {} });

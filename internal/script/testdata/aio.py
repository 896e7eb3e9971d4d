import asyncio
from hermes_tools import HermesToolError, check, json_parse, raise_errors, retry, shell_quote
from hermes_tools.aio import read_file, terminal

async def main() -> None:
    with raise_errors():
        pages = await asyncio.gather(*[read_file(f"{i}.txt") for i in range(3)])
    print([p["content"] for p in pages], check(await terminal("ls"))["exit_code"])
    try:
        retry(lambda: json_parse("{}"))
    except HermesToolError as e:
        print(e.tool, e.result, shell_quote("x"))

asyncio.run(main())

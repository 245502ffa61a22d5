# An MCP server on stdio that asks before it greets. Its answer is what it was told.
reply() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }
while IFS= read -r line; do
  id=${line#*'"id":'}
  id=${id%%[,\}]*}
  case $line in
  *'"method":"initialize"'*) reply "$id" '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"greeter","version":"1"}}' ;;
  *'"method":"tools/list"'*) reply "$id" '{"tools":[{"name":"greet","description":"Greets.","inputSchema":{"type":"object"}}]}' ;;
  *'"method":"tools/call"'*)
    call=$id
    printf '%s\n' '{"jsonrpc":"2.0","id":"ask","method":"elicitation/create","params":{"mode":"form","message":"Whom shall I greet?","requestedSchema":{"type":"object","properties":{"name":{"type":"string","title":"Name"}},"required":["name"]}}}'
    ;;
  *'"id":"ask"'*)
    told=${line#*'"result":'}
    told=${told%\}}
    printf '%s\n' "$told" > told
    reply "$call" "{\"content\":[{\"type\":\"text\",\"text\":\"${told//\"/\\\"}\"}]}"
    ;;
  esac
done

import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.json.McpJsonMapper;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Converts between the SDK's protocol types and JSON, with the names that are used on the wire. */
final class Json {

    static final McpJsonMapper mapper = McpJsonDefaults.getMapper();

    static Map<String, Object> map(Object... pairs) {
        Map<String, Object> map = new LinkedHashMap<>();
        for (int i = 0; i < pairs.length; i += 2) {
            map.put((String) pairs[i], pairs[i + 1]);
        }
        return map;
    }

    static <T> T make(Class<T> kind, Object... pairs) {
        return mapper.convertValue(map(pairs), kind);
    }

    static <T> T parse(String text, Class<T> kind) {
        try {
            return mapper.readValue(text, kind);
        } catch (Exception e) {
            throw new IllegalArgumentException(text, e);
        }
    }

    static String text(Object value) {
        try {
            return mapper.writeValueAsString(value);
        } catch (Exception e) {
            throw new IllegalArgumentException(e);
        }
    }

    /** Returns the members as sent on the wire. */
    @SuppressWarnings("unchecked")
    static Map<String, Object> plain(Object value) {
        return parse(text(value), Map.class);
    }

    @SuppressWarnings("unchecked")
    static Map<String, Object> object(Object value) {
        return (Map<String, Object>) value;
    }

    @SuppressWarnings("unchecked")
    static List<Object> list(Object value) {
        return (List<Object>) value;
    }

    private Json() {
    }
}
